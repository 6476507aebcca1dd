// SPDX-License-Identifier: Apache-2.0

// Volume makes and removes the folder of a volume on the node that it is to be on. The provisioner runs it in a pod
// there, in place of a shell: an image with nothing but this is smaller, and has nothing else to run.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// Whoever mounts a volume may write to it, whatever the user of its containers.
const mode = 0o777

func main() {
	path := flag.String("p", "", "folder of the volume")
	action := flag.String("a", "", "what is to be done with it: create or delete")
	kind := flag.String("m", "Filesystem", "kind of the volume; there are none but folders")
	_ = flag.Int64("s", 0, "size in bytes; nothing holds a folder to it")
	flag.Parse()
	if err := act(*action, *path, *kind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func act(action, path, kind string) error {
	if !filepath.IsAbs(path) || filepath.Dir(filepath.Dir(path)) == filepath.Dir(path) {
		return fmt.Errorf("%q is not the folder of a volume", path)
	}
	switch action {
	case "create":
		if kind != "Filesystem" {
			return fmt.Errorf("a volume of kind %s cannot be a folder", kind)
		}
		if err := os.MkdirAll(path, mode); err != nil {
			return err
		}
		return os.Chmod(path, mode)
	case "delete":
		return os.RemoveAll(path)
	default:
		return fmt.Errorf("there is no action %q", action)
	}
}
