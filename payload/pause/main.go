// SPDX-License-Identifier: Apache-2.0

// Pause holds the namespaces of a pod while its containers come and go. It waits for nothing but its end; where the
// containers of a pod see each other's processes it is the first of them, and so takes in those whose parent is gone.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// Reap takes leave of all processes that ended: one signal may stand for several.
func reap() {
	for {
		process, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || process <= 0 {
			return
		}
	}
}
