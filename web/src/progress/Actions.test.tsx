// SPDX-License-Identifier: Apache-2.0
import { act, render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Cluster } from "../api/types";
import { link } from "../store/live";
import { Actions } from "./Actions";

test("an installation cannot be stopped while nobody answers, and the button says so", () => {
  render(<Actions cluster={{ id: "c", status: "installing", name: "alpha" } as Cluster} />);
  const button = screen.getByTestId<HTMLButtonElement>("cancel");
  act(() => link.set(() => ({ state: "live", heardAt: 0, tries: 0 })));
  expect(button.disabled).toBe(false);
  act(() => link.set(() => ({ state: "lost", heardAt: 0, tries: 3 })));
  expect(button.disabled).toBe(true);
  expect(button.title).toBe("The service does not answer.");
});
