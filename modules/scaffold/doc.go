// Package scaffold keeps a directory as a folder of templates says. The controller
// renders the templates; the host gets a [modules.Tree].
package scaffold
