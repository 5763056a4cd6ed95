// Package source reads the parts of an inventory: files, pipes and folders of them ([Named], [Folder]), the programs
// that print one ([Script]), and the files of variables in group_vars and host_vars ([VarsFolder]). It detects the
// format of a file ([FormatOf]), and limits the size of files and the time that a program may take.
//
// Everything here uses the file system or a process of this machine. The meaning of the text does not belong here:
// package ansible and the inventory know it.
package source
