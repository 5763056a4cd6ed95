// Command ccm-push drives a fleet to a desired state over SSH.
//
// main starts it and turns signals into the ways to end it; app has what the program gets from its
// user: streams, environment, signals. A commandLine splits the words (argv.go) and parses the flags
// that commands share into one value, flags.All. A fleet makes a playbooks.Runner of it, plays reads
// manifests for it, a printer prints. Each command is a file: flags in, one call, value printed.
//
// Code that another program than this one could use does not belong here. It belongs to the package
// that it is about.
package main
