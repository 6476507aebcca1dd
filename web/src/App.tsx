// SPDX-License-Identifier: Apache-2.0
/** The page as a whole: who is there, and which screen is shown. */
import { useEffect, useState } from "react";
import { Page, PageSection, SkipToContent } from "@patternfly/react-core";
import { ClusterPage } from "./clusters/ClusterPage";
import { ClustersPage } from "./clusters/ClustersPage";
import { NewClusterPage } from "./clusters/NewClusterPage";
import { t } from "./i18n";
import { useRoute } from "./routing";
import { session } from "./session/session";
import { LoginAgain } from "./session/LoginAgain";
import { LoginPage } from "./session/LoginPage";
import { ErrorBoundary } from "./shell/ErrorBoundary";
import { LinkBanner } from "./shell/LinkBanner";
import { Loading } from "./shell/Loading";
import { Top } from "./shell/Top";
import { UnknownPage } from "./shell/UnknownPage";
import { loadService } from "./store/service";
import { useStore } from "./store/store";

const MAIN = "main";

export function App() {
  const phase = useStore(session.store, (state) => state.phase);
  useFirstLook();
  if (phase === "unknown") return <Loading text={t("app.starting")} />;
  if (phase === "out") return <LoginPage />;
  return (
    <Page
      masthead={<Top />}
      mainContainerId={MAIN}
      skipToContent={<SkipToContent href={`#${MAIN}`}>{t("app.skip")}</SkipToContent>}
    >
      <LinkBanner />
      <ErrorBoundary>
        <Screen />
      </ErrorBoundary>
      {phase === "expired" && <LoginAgain />}
    </Page>
  );
}

function Screen() {
  const route = useRoute();
  switch (route.page) {
    case "clusters":
      return <ClustersPage />;
    case "new":
      return <NewClusterPage />;
    case "cluster":
      return <ClusterPage key={route.id} id={route.id} part={route.part} />;
    case "unknown":
      return (
        <PageSection>
          <UnknownPage />
        </PageSection>
      );
  }
}

/** Ask who we are until somebody answers. */
function useFirstLook(): void {
  const [tries, setTries] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    Promise.all([session.look(), loadService()]).then(([isIn]) => logInByAddress(isIn)).catch(() => {
      timer = setTimeout(() => setTries(tries + 1), 2000);
    });
    return () => clearTimeout(timer);
  }, [tries]);
}

/** The console's QR code leads here with the code behind a hash, which no server and no log ever sees. */
async function logInByAddress(isIn: boolean): Promise<void> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(null, "", location.pathname);
  if (!isIn) await session.logIn({ code }).catch(() => undefined);
}
