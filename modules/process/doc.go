// Package process is what the types share whose resources are programs of others, which
// print JSON or lines: dsc and ral. It finds a program on the host and remembers what has
// been found out about it, says what it is started as and given, reads its answer, quotes
// the line of it that is wrong, and takes out secrets.
//
// Nothing of one convention may come in: what a program is asked, and what its answer
// means, is for the types to know. Starting processes is for [modules.Commands].
package process
