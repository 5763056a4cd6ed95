package file

import "io/fs"

// directoryMode adds x for whoever has r or w: a directory is of no use without.
func directoryMode(mode fs.FileMode) fs.FileMode {
	return mode | (mode>>1|mode>>2)&0o111
}
