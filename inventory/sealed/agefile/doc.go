// Package agefile is the format of files whose values are encrypted one by one, and of files
// that age has encrypted as a whole.
//
// In the first kind the structure of a YAML file is in clear, and values have the tag !age. A
// comment at the beginning, the [Header], has the key of the values, which age has encrypted to
// all who can read the file, and says who they are. A value is sealed by XChaCha20-Poly1305
// with a nonce of its own; the path of the file and that of the value in it are part of what
// is authenticated, so that no value can be put in the place of another one.
package agefile
