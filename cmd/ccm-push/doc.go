// Command ccm-push drives a fleet to a desired state over SSH.
//
// main starts it and turns signals into the ways to end it; app is what it has from its
// user: streams, environment, signals. A commandLine takes the words apart (argv.go) and
// holds the flags that commands share, in groups: inventoryFlags, connectionFlags,
// variableFlags, paceFlags, modeFlags, workFlags, selectionFlags. A fleet makes a
// playbooks.Runner of them, plays reads manifests for it, a printer prints. Each command
// is a file: flags in, one call, value printed.
//
// What could be asked by another program than this one may not come in: it belongs to the
// package that it is about.
package main
