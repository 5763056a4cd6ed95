// Package varfiles finds and reads the files of variables that stand in group_vars
// and host_vars beside an inventory or a manifest. What other users could have put
// there is refused: variables decide what is run.
package varfiles
