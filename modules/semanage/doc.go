// Package semanage is what the types of SELinux share: the policy of a host, whether the kernel goes by it, and what
// has been added to it there, by semanage(8). That is read from the files of the policy's store, so that looking starts
// no program; it is changed by the program alone.
package semanage
