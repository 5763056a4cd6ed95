// Command ccm-push drives a fleet to a desired state over SSH.
//
// main starts the program, and stops or kills the run on signals. An app.App holds the streams, the environment and the
// signals. A commandLine splits the arguments (argv.go) and parses the shared flags into one value, flags.All. A
// fleet.Fleet makes a playbooks.Runner from that value, fleet.Plays reads the manifests, and an output.Printer prints. Each
// command is a file: it reads its flags, makes one call, and prints the result.
//
// The packages below this one import only packages above them in this list, and commands do not import other commands:
//
//	flags, manual, starter                    flags that commands share; texts of help; first files of a project
//	app, exit                                 the environment of the program; its exit statuses
//	arguments, links, output                  arguments of commands; NATS; results
//	access                                    connections and secrets
//	inventories                               hosts
//	fleet                                     runs
//	hosts, manifests, remote, runs, secret    commands
//
// Code that another program could use belongs in a package of that subject, not here.
package main
