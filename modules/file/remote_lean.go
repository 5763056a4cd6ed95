//go:build !full

package file

// fetch is nil: so the linker leaves an HTTP client out.
var fetch getter
