// Command ccm-push-broker is a server of NATS for users without one: for the workers of ccm-push, and for the data that
// CCM stores there. It stores everything in one folder, including TLS keys and users.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ccm-push/ccm-push/cmd/ccm-push-broker/broker"
)

// version is set by the linker.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	syscall.Umask(0o077)
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ccm-push-broker:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	b := &broker.Broker{Say: say, Notify: os.Getenv("NOTIFY_SOCKET")}
	root := &cobra.Command{
		Use:   "ccm-push-broker --dir DIR",
		Short: "a server of NATS in one folder, with TLS and users",
		Long: `ccm-push-broker is a server of NATS with JetStream. Its first start makes the folder and an
authority in it (ca.pem), which signs its certificate: clients get ca.pem and the file that
"user add" makes. All connections are encrypted, and only these users can log in.`,
		Example: `  ccm-push-broker user add ops --dir /var/lib/ccm-push-broker
  ccm-push-broker --dir /var/lib/ccm-push-broker --name nats.example.com
  ccm-push --nats tls://nats.example.com:4222 --nats-ca ca.pem --nats-nkey ops.nk ...`,
		Version: version, Args: cobra.NoArgs, SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.Run(cmd.Context()) },
	}
	root.SetVersionTemplate("ccm-push-broker {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&b.Dir, "dir", "", "the `folder` that has everything; made if it is not there")
	_ = root.MarkPersistentFlagRequired("dir") // there is such a flag
	root.Flags().StringVar(&b.Listen, "listen", ":4222", "the `address` to listen on")
	root.Flags().StringArrayVar(&b.Names, "name", nil, "another `name` or IP address that clients connect to, in addition to localhost and the name of this machine; may be repeated")
	root.Flags().StringVar(&b.Server, "server", "", "the loopback `address` of a separate nats-server: this program then filters its clients and runs no server; user config prints the configuration that nats-server needs")
	root.AddCommand(userCommand(b))
	return root
}

func userCommand(b *broker.Broker) *cobra.Command {
	user := &cobra.Command{Use: "user", Short: "users who can log in: add, list, remove"}
	var file, role string
	var sites []string
	add := &cobra.Command{
		Use: "add NAME", Short: "add a user, and write the file to log in with", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if file == "" {
				file = args[0] + ".nk"
			}
			as, err := broker.ParseRole(role)
			if err == nil {
				err = b.AddUser(args[0], as, file, sites...)
			}
			if err != nil {
				return err
			}
			say(fmt.Sprintf("%s may log in; %s is secret, and %s verifies the broker: --nats-nkey %[2]s --nats-ca %[3]s", args[0], file, broker.CACopy(file)))
			return nil
		},
	}
	add.Flags().StringVar(&file, "out", "", "the `file` to write (default NAME.nk); a copy of ca.pem is written next to it, as NAME.pem")
	add.Flags().StringVar(&role, "role", string(broker.Operator), "the permissions of the user: operator (everything), coordinator (begin runs with --workers, register services), worker (take hosts), reader (read data, manifests and registrations)")
	add.Flags().StringSliceVar(&sites, "site", nil, "sites whose hosts a worker may take, with commas; without it all sites")
	list := &cobra.Command{
		Use: "list", Short: "print who may log in", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			users, err := b.Users()
			for _, u := range users {
				fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(fmt.Sprint(u.Name, " ", u.Key, " ", u.Role, " ", u.Sites)))
			}
			return err
		},
	}
	remove := &cobra.Command{
		Use: "remove NAME", Short: "remove a user, and end the connections of this user", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return b.RemoveUser(args[0]) },
	}
	config := &cobra.Command{
		Use: "config", Short: "print the users and their permissions as configuration of a nats-server (--server)", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.WriteConfig(cmd.OutOrStdout()) },
	}
	user.AddCommand(add, list, remove, config)
	return user
}

func say(text string) { fmt.Fprintln(os.Stderr, "ccm-push-broker:", text) }
