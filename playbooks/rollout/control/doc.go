// Package control sends an operator's commands to a rollout from another terminal, through a Unix socket in the folder
// of the run. Only root and the user who began the run can open it. The program that runs the rollout calls [Listen]
// (server.go), the client calls [Send] (client.go). A client writes one [rollout.Command] as a line of JSON, and reads
// one [rollout.Reply].
package control
