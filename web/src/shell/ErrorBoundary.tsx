// SPDX-License-Identifier: Apache-2.0
/** A fault of ours takes down one screen, not the page: it says so, and how to go on. */
import { Component, type ErrorInfo, type ReactNode } from "react";
import { Alert, AlertActionLink, CodeBlock, CodeBlockCode, PageSection } from "@patternfly/react-core";
import { t } from "../i18n";

interface State {
  error?: Error;
  stack?: string;
}

export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = {};

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override componentDidCatch(_error: Error, info: ErrorInfo): void {
    this.setState({ stack: info.componentStack ?? "" });
  }

  override render(): ReactNode {
    const { error, stack } = this.state;
    if (!error) return this.props.children;
    return (
      <PageSection>
        <Alert component="h2"
          variant="danger"
          isInline
          title={t("fault.title")}
          actionLinks={<AlertActionLink onClick={() => this.setState({ error: undefined })}>{t("fault.again")}</AlertActionLink>}
        >
          <p>{t("fault.text")}</p>
          <CodeBlock>
            <CodeBlockCode>{`${error.message}\n${(stack ?? "").trim()}`}</CodeBlockCode>
          </CodeBlock>
        </Alert>
      </PageSection>
    );
  }
}
