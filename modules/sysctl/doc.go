// Package sysctl is the resource type "sysctl": a setting of the kernel, now and after a boot.
package sysctl
