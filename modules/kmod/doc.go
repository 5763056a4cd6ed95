// Package kmod is the resource type "kmod": a module of the kernel, now and after a boot.
package kmod
