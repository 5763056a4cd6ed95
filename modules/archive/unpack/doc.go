// Package unpack unpacks untrusted archives. It inspects the whole archive before it writes anything, and writes only
// below one directory.
//
// It refuses names that are absolute or lead up, links that lead out, entries below links, everything but files,
// directories and links, and archives whose contents are larger than allowed. Files belong to the user of the process.
// Their modes keep the permissions, except write access for group and others.
package unpack
