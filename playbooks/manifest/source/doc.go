// Package source finds and reads the files of a manifest: the files on the command line, and the files that a manifest
// names (included manifests, nested manifests, vars_files and DSC documents). They are on disk, in an archive (tar.gz
// with manifest.yaml at the top, as CCM publishes them), or in an archive at a URL.
//
// The operator may not be the author of an archive. So an archive is compared with its checksum before anything in it
// is read, no name leads out of its folder, and an [ArchiveRoot] limits the files that its manifests may name.
//
// The content at a URL is a [Page]: errors and reports do not show its password.
//
// This package does not interpret the YAML: it knows no plays, no resources, no expressions.
package source
