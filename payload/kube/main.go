// SPDX-License-Identifier: Apache-2.0

// Kube is every program of a Kubernetes cluster in one file: they share nearly all of their code, and so one file
// is a seventh of their sum. The name that it is called by says which one it is; called as "kube", the first
// argument does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // Cron jobs name time zones, and images have no files of them.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/etcdctl/v3/ctlv3"
	"go.etcd.io/etcd/etcdutl/v3/etcdutl"
	"go.etcd.io/etcd/pkg/v3/cobrautl"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlerrors "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmerrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

const self = "kube"

// A program is one of those that this file can be; it does not return before it is done.
type program func()

var programs = map[string]program{
	"kube-apiserver":          daemon(apiserver.NewAPIServerCommand),
	"kube-controller-manager": daemon(controllers.NewControllerManagerCommand),
	"kube-scheduler":          daemon(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              daemon(proxy.NewProxyCommand),
	"kubelet":                 daemon(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kubeadm":                 func() { kubeadmerrors.HandleError(kubeadm.Run()) },
	"kubectl":                 runKubectl,
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"etcdctl":                 ctlv3.MustStart,
	"etcdutl":                 runEtcdutl,
}

func main() {
	name := filepath.Base(os.Args[0])
	if name == self {
		if len(os.Args) < 2 || strings.HasPrefix(os.Args[1], "-") {
			explain(os.Stdout)
			return
		}
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	run, known := programs[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%s: there is no program %q\n", self, name)
		explain(os.Stderr)
		os.Exit(2)
	}
	// Two of etcd's packages switch this on for everybody who merely contains them.
	cobra.EnablePrefixMatching = strings.HasPrefix(name, "etcd")
	run()
}

func explain(to io.Writer) {
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(to, "usage: %s PROGRAM [ARGUMENT...], or a link named PROGRAM; PROGRAM is one of\n  %s\n", self,
		strings.Join(names, "\n  "))
}

// Daemon runs the command of a long-running component, which reports its own errors. The command is made only when
// it runs: making it registers flags and feature gates that another component may have, too.
func daemon(command func() *cobra.Command) program {
	return func() { os.Exit(cli.Run(command())) }
}

// RunKubectl sets how much is logged before the command is made: its plugins and preferences are read by then.
func runKubectl() {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlerrors.CheckErr(err)
	}
}

// RunEtcdutl puts the commands together as etcdutl's own main package does, which cannot be imported.
func runEtcdutl() {
	root := &cobra.Command{Use: "etcdutl", Short: "Work on the files of etcd while it does not run."}
	root.PersistentFlags().StringVarP(&etcdutl.OutputFormat, "write-out", "w", "simple",
		"form of the output: fields, json, protobuf, simple, table")
	root.AddCommand(etcdutl.NewDefragCommand(), etcdutl.NewHashKVCommand(), etcdutl.NewMigrateCommand(),
		etcdutl.NewSnapshotCommand(), etcdutl.NewVersionCommand())
	if err := root.Execute(); err != nil {
		cobrautl.ExitWithError(cobrautl.ExitError, err)
	}
}
