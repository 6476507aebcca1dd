// SPDX-License-Identifier: Apache-2.0
/** Why a request came to nothing: what happened, and what can be done about it. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly fix: string = "",
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** Nobody answered: the service is gone, or the way to it. */
export class Unreachable extends Error {
  constructor() {
    super("the service does not answer");
    this.name = "Unreachable";
  }
}

interface ErrorBody {
  reason?: string;
  message?: string;
  hint?: string;
}

/** The error that an answer is. The service writes "what; what to do". */
export async function readError(response: Response): Promise<ApiError> {
  let body: ErrorBody = {};
  try {
    body = (await response.json()) as ErrorBody;
  } catch {
    // No JSON: whatever stands between us and the service wrote this.
  }
  const text = body.reason ?? body.message ?? `the service answered ${response.status}`;
  if (body.hint) return new ApiError(response.status, text.replace(`; ${body.hint}`, ""), body.hint);
  const at = text.lastIndexOf("; ");
  return at < 0
    ? new ApiError(response.status, text)
    : new ApiError(response.status, text.slice(0, at), text.slice(at + 2));
}
