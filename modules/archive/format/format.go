// Package format tells how an archive is written by its name.
package format

import "strings"

// A Format is how an archive is written; "" is not known.
type Format string

// The formats, each by the ending of a file's name.
const (
	Tar     Format = "tar"
	TarGzip Format = "tar.gz"
	TarXZ   Format = "tar.xz"
	TarZstd Format = "tar.zst"
	Zip     Format = "zip"
)

// Endings says in words what names of archives end in.
const Endings = ".zip, .tar.gz, .tgz, .tar.xz, .tar.zst, or .tar"

// Of tells the format of a file by its name.
func Of(name string) Format {
	for _, f := range []Format{Tar, TarGzip, TarXZ, TarZstd, Zip} {
		if strings.HasSuffix(name, "."+string(f)) {
			return f
		}
	}
	if strings.HasSuffix(name, ".tgz") {
		return TarGzip
	}
	return ""
}
