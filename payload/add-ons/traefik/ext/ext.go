// SPDX-License-Identifier: Apache-2.0

// Package ext is where others add fields to Traefik's dynamic configuration. Nothing is added here.
package ext

type (
	// HTTP goes into the configuration of HTTP as a whole.
	HTTP struct{}
	// Router goes into that of every router.
	Router struct{}
)
