// Package tight compresses a file once that will be sent many times: it takes seconds
// per megabyte to find a deflate stream (RFC 1951) a few percent smaller than that of
// other compressors at their best level. Anything that reads gzip files reads it, and
// one input has one output.
//
// The way is that of Zopfli: the cheapest of all sequences of literals and matches under
// what the codes of the last round cost, again and again, in blocks whose borders are
// where two codes are cheaper than one.
package tight
