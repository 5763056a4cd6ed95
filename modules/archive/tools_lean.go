//go:build !full

package archive

func ownTools() tools { return tools{} }
