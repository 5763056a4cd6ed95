// Package source finds and reads the files of a manifest: those that the command line
// names, and those that a manifest names itself, which are included manifests, nested
// manifests, vars_files and DSC documents. They stand on disk, in an archive (tar.gz with
// manifest.yaml at the top, as CCM publishes them), or in an archive behind a URL.
//
// Archives may come from others than the operator. So an archive is compared with its
// checksum before anything of it is looked at, no name leads out of its folder, and an
// [ArchiveRoot] says what its manifests may name.
//
// What a URL leads to is a [Page]: errors and reports do not show its password.
//
// What the YAML means does not come in here: no plays, no resources, no expressions.
package source
