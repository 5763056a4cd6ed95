#!/usr/bin/perl
# A DSC resource of the first design, in Perl: properties come as --name value, or as
# JSON, and messages go to standard error as it had them.
use strict;
use warnings;
use JSON::PP;

my $operation = shift @ARGV;
my %wanted;
if (@ARGV) {
    while (my ($name, $value) = splice @ARGV, 0, 2) {
        $name =~ s/^--//;
        $wanted{$name} = $value;
    }
} else {
    local $/;
    %wanted = %{ decode_json(<STDIN>) };
}
my $json = JSON::PP->new->canonical;

sub current {
    my %state = (file => $wanted{file}, _ensure => 'absent');
    if (open my $in, '<', $wanted{file}) {
        local $/;
        my $known = decode_json(<$in>);
        %state = (%$known, file => $wanted{file}, _ensure => 'present');
    }
    return \%state;
}

my $state = current();
if (($wanted{colour} // '') eq 'broken') {
    print STDERR $json->encode({ error => { code => 7, message => 'there is no such colour' } }), "\n";
    exit 0;
}
if ($operation eq 'get') {
    print STDERR $json->encode({ verbose => { message => "read $wanted{file}" } }), "\n";
    print $json->encode($state);
} elsif ($operation eq 'test') {
    my %differ;
    for my $name (grep { !/^_(purge|validation)$/ } keys %wanted) {
        $differ{$name} = $state->{$name} if lc($wanted{$name} // '') ne lc($state->{$name} // '');
    }
    exit 0 unless %differ;
    print $json->encode(\%differ);
    exit 1;
} elsif ($operation eq 'set') {
    if (($wanted{_ensure} // 'present') eq 'absent') {
        unlink $wanted{file};
    } else {
        open my $out, '>', $wanted{file} or die "$wanted{file}: $!\n";
        print $out $json->encode({ map { $_ => $wanted{$_} } grep { !/^(file|_.*)$/ } keys %wanted });
        close $out;
    }
    print STDERR $json->encode({ warning => { message => 'colours fade' } }), "\n";
    print $json->encode(current());
}
