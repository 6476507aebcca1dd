// SPDX-License-Identifier: Apache-2.0
/** The bar at the top: where we are, the theme, and the way out. */
import {
  Button,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadMain,
  ToggleGroup,
  ToggleGroupItem,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from "@patternfly/react-core";
import DesktopIcon from "@patternfly/react-icons/dist/esm/icons/desktop-icon";
import MoonIcon from "@patternfly/react-icons/dist/esm/icons/moon-icon";
import SunIcon from "@patternfly/react-icons/dist/esm/icons/sun-icon";
import { t } from "../i18n";
import mark from "../mark.svg";
import { session } from "../session/session";
import { useStore } from "../store/store";
import { go } from "../routing";
import { Go } from "./Go";
import { LinkState } from "./LinkState";
import { chooseTheme, theme, THEMES } from "./theme";

const ICONS = { system: <DesktopIcon />, light: <SunIcon />, dark: <MoonIcon /> };

export function Top() {
  return (
    <Masthead className="app-top">
      <MastheadMain>
        <MastheadBrand>
          <Go to="/" className="app-brand">
            <img src={mark} alt="" width="28" height="28" />
            <span>{t("app.name")}</span>
          </Go>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar>
          <ToolbarContent>
            <ToolbarGroup align={{ default: "alignEnd" }} variant="action-group">
              <ToolbarItem>
                <LinkState />
              </ToolbarItem>
              <ToolbarItem>
                <ThemeChoice />
              </ToolbarItem>
              <ToolbarItem>
                <Button variant="plain" onClick={leave}>
                  {t("app.logout")}
                </Button>
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
}

function leave(): void {
  void session.logOut().then(() => go("/"));
}

export function ThemeChoice() {
  const chosen = useStore(theme, (value) => value);
  return (
    <ToggleGroup aria-label={t("theme.label")} isCompact>
      {THEMES.map((each) => (
        <ToggleGroupItem
          key={each}
          icon={ICONS[each]}
          aria-label={t(`theme.${each}`)}
          buttonId={`theme-${each}`}
          isSelected={each === chosen}
          onChange={() => chooseTheme(each)}
        />
      ))}
    </ToggleGroup>
  );
}
