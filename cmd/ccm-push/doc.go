// Command ccm-push drives a fleet to a desired state over SSH.
//
// main starts the program, and stops or kills the run on signals. An app holds the streams, the environment and the
// signals. A commandLine splits the arguments (argv.go) and parses the shared flags into one value, flags.All. A fleet
// makes a playbooks.Runner from that value, plays reads the manifests, and a printer prints. Each command is a file: it
// reads its flags, makes one call, and prints the result.
//
// Code that another program could use belongs in a package of that subject, not here.
package main
