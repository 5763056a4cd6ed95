// Package scaffold keeps a directory equal to a rendered folder of templates. The controller renders the templates; the
// host gets a [modules.Tree].
package scaffold
