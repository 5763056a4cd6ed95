// Package source reads what an inventory is made of: files, pipes and folders of them
// ([Named], [Folder]), the programs that print one ([Script]), and the files of
// variables in group_vars and host_vars ([VarsFolder]). It says how a file is written
// ([FormatOf]) and bounds how much is read and how long a program may take.
//
// Everything here has to do with the file system or a process of this machine. What the
// text means may not come in: package ansible and the inventory know that.
package source
