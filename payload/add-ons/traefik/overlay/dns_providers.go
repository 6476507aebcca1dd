// SPDX-License-Identifier: Apache-2.0

// Package dns is where lego knows the interfaces of two hundred sellers of domain names, to prove to a public
// certificate authority who owns one. They would be most of the program; this one knows none of them.
package dns

import (
	"fmt"

	"github.com/go-acme/lego/v5/challenge"
)

// NewDNSChallengeProviderByName finds no provider, and says what can be done.
func NewDNSChallengeProviderByName(name string) (challenge.Provider, error) {
	return nil, fmt.Errorf("this build of Traefik has no DNS provider %q: use another challenge, or a certificate", name)
}
