// Package semanage is the common part of the SELinux types: the policy of a host, whether the kernel applies it, and
// the records added to it on the host by semanage(8). It reads them from the files of the policy's store, so that a
// check starts no program; only semanage changes them.
package semanage
