// Package swap is the resource type "swap": a file or a device to swap to, now and after a boot.
package swap
