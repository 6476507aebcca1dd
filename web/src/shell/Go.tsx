// SPDX-License-Identifier: Apache-2.0
/** A link to another page of ours: a real one, so that it can be opened in another tab. */
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { go } from "../routing";

interface Props extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
}

export function Go({ to, onClick, ...rest }: Props) {
  function click(event: MouseEvent<HTMLAnchorElement>): void {
    onClick?.(event);
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  }
  return <a href={to} onClick={click} {...rest} />;
}
