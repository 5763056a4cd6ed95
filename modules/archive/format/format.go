// Package format finds the format of an archive from its name.
package format

import "strings"

// A Format is an archive format; "" means unknown.
type Format string

// The formats, each by the ending of a file's name.
const (
	Tar     Format = "tar"
	TarGzip Format = "tar.gz"
	TarXZ   Format = "tar.xz"
	TarZstd Format = "tar.zst"
	Zip     Format = "zip"
)

// Endings lists the file extensions of archives, for messages.
const Endings = ".zip, .tar.gz, .tgz, .tar.xz, .tar.zst, or .tar"

// Of returns the format of a file from its name.
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
