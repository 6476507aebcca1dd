// SPDX-License-Identifier: Apache-2.0
/** Log in with the code of the console, or with a password where there is one. */
import { type FormEvent, useState } from "react";
import { ActionGroup, Button, Form, FormGroup, FormHelperText, HelperText, HelperTextItem, TextInput } from "@patternfly/react-core";
import { t } from "../i18n";
import { Failure } from "../shell/Failure";
import { useService } from "../store/service";
import { useStore } from "../store/store";
import { session } from "./session";

export function LoginForm() {
  const ways = useStore(session.store, (state) => state.ways);
  const [way, setWay] = useState<"code" | "password">(ways.includes("code") ? "code" : "password");
  const [text, setText] = useState("");
  const { mode } = useService();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await session.logIn({ [way]: text });
      setText("");
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(false);
    }
  }

  const other = way === "code" ? "password" : "code";
  return (
    <Form onSubmit={(event) => void submit(event)}>
      <Failure error={error} title={t("login.failed")} />
      <FormGroup label={t(`login.${way}`)} fieldId="login-proof">
        <TextInput
          id="login-proof"
          value={text}
          onChange={(_event, value) => setText(value)}
          type={way === "code" ? "text" : "password"}
          autoCapitalize={way === "code" ? "characters" : undefined}
          autoComplete={way === "code" ? "one-time-code" : "current-password"}
          autoFocus
        />
        <FormHelperText>
          <HelperText>
            <HelperTextItem>{t(way === "password" && mode === "status" ? "login.password.help.status" : `login.${way}.help`)}</HelperTextItem>
          </HelperText>
        </FormHelperText>
      </FormGroup>
      <ActionGroup>
        <Button type="submit" isLoading={busy} isDisabled={busy}>
          {t("login.go")}
        </Button>
        {ways.includes(other) && (
          <Button variant="link" onClick={() => setWay(other)}>
            {t(`login.use.${other}`)}
          </Button>
        )}
      </ActionGroup>
    </Form>
  );
}
