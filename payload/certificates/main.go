// SPDX-License-Identifier: Apache-2.0

// Certificates prints the authorities that Mozilla trusts, as programs on Linux look for them in a file. Those that
// it trusts only under conditions (names, dates) are left out: a file cannot say them.
package main

import (
	"encoding/pem"
	"log"
	"os"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		block := &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}
		if err := pem.Encode(os.Stdout, block); err != nil {
			log.Fatal(err)
		}
	}
}
