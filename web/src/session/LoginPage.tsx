// SPDX-License-Identifier: Apache-2.0
import { Card, CardBody, CardTitle, Content } from "@patternfly/react-core";
import { t } from "../i18n";
import mark from "../mark.svg";
import { ThemeChoice } from "../shell/Top";
import { LoginForm } from "./LoginForm";

export function LoginPage() {
  return (
    <main className="app-login">
      <Card isLarge>
        <CardTitle>
          <h1 className="app-brand">
            <img src={mark} alt="" width="32" height="32" />
            <span>{t("login.title")}</span>
          </h1>
        </CardTitle>
        <CardBody>
          <Content component="p">{t("login.intro")}</Content>
          <LoginForm />
          <Content component="h2" className="app-login-trust">
            {t("login.trust.title")}
          </Content>
          <Content component="p">{t("login.trust.text")}</Content>
        </CardBody>
      </Card>
      <ThemeChoice />
    </main>
  );
}
