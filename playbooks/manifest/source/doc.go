// Package source finds and reads the files of a manifest: those that the command line
// names, and those that a manifest names itself, which are included manifests, nested
// manifests, vars_files and DSC documents. They stand on disk, in an archive (tar.gz with
// manifest.yaml at the top, as CCM publishes them), or in an archive behind a URL.
//
// It was not the operator who wrote what is in an archive. So an archive is held against
// its checksum before anything of it is looked at, no name leads out of its folder, and
// an [Enclosure] says what its manifests may name.
//
// What the YAML means does not come in here: no plays, no resources, no expressions.
package source
