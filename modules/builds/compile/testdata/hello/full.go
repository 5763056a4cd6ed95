//go:build full

package main

func init() { kind = " full" }
