// SPDX-License-Identifier: Apache-2.0
import "@patternfly/react-core/dist/styles/base.css";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { startRouting } from "./routing";
import { startTheme } from "./shell/theme";
import { startLive } from "./store/live";
import "./app.css";

startTheme();
startRouting();
startLive();
createRoot(document.getElementById("root")!).render(<App />);
