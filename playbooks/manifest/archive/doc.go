// Package archive unpacks archives of a manifest and the files beside it, as CCM
// publishes them: tar.gz, on disk or behind a URL, with manifest.yaml at the top.
//
// It was not the operator who wrote what is in one, so an archive is held against
// its checksum before anything of it is looked at, no name leads out of its folder,
// and an [Enclosure] says what its manifests may name.
package archive
