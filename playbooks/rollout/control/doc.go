// Package control carries what a person says to a rollout from another terminal: through a Unix socket
// in the folder of the run, which only the user who began it can open, and root. [Listen] is for the
// program that runs the rollout (server.go), [Send] for the one that says something (client.go).
//
// A client writes one [rollout.Command] as a line of JSON, and reads one [rollout.Reply].
package control
