// Package mount is the resource type "mount": a file system at a path, now and after a boot.
package mount
