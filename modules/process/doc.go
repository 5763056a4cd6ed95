// Package process is the common part of the types whose resources are programs of others, which print JSON or lines:
// dsc and ral. It finds a program on the host and remembers facts about it, sets the user and the input with which it
// is started, reads its answer, quotes the line with an error, and removes secrets.
//
// It knows no convention of these programs: the types build their requests and interpret their answers.
// [modules.Commands] starts processes.
package process
