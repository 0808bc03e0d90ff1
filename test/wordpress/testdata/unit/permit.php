<?php
// R-BRIDGE-4: the site permits one kind of proposal, whatever the gateway says.
require __DIR__ . '/check.php';
load( 'abn' );
load( 'permit' );

$good = array(
	'status'       => 'resolved',
	'selector'     => 'deterministic_v1',
	'capability'   => 'business.au.abn.lookup',
	'app'          => 'abn_lookup',
	'operation'    => 'lookup_v1',
	'arguments'    => array( 'abn' => '51824753556' ),
	'risk'         => 'low',
	'confirmation' => false,
);
$text = 'Check whether ABN 51 824 753 556 is registered.';
check( 'the expected proposal', interlock_bridge_permit( $good, $text ), '' );
check( 'of a model', interlock_bridge_permit( array( 'selector' => 'openai' ) + $good, $text ), '' );

foreach ( array( null, true, 7, 'text', array() ) as $proposal ) {
	check( 'a proposal that is ' . gettype( $proposal ), interlock_bridge_permit( $proposal, $text ), 'capability' );
}

/** The good proposal with another value, or without the member. */
function with( string $name, $value ): array {
	global $good;
	return array( $name => $value ) + $good;
}
function without( string $name ): array {
	global $good;
	return array_diff_key( $good, array( $name => 0 ) );
}

$refused = array(
	'capability'   => array( 'business.au.abn.lookup2', 'Business.au.abn.lookup', '', null, 0, true, array( 'business.au.abn.lookup' ) ),
	'app'          => array( 'abn_lookup2', 'ABN_LOOKUP', '', null, true ),
	'operation'    => array( 'lookup_v2', 'lookup_v1/../x', '', null, true ),
	'risk'         => array( 'medium', 'high', 'LOW', '', null, 0, true, array() ),
	'confirmation' => array( true, null, 0, '', 'false', array() ),
	'arguments'    => array(
		null,
		'',
		'51824753556',
		array(),
		array( '51824753556' ),
		array( 'ABN' => '51824753556' ),
		array( 'abn' => 51824753556 ),
		array( 'abn' => '51824753557' ),
		array( 'abn' => '51 824 753 556' ),
		array( 'abn' => "51824753556\n" ),
		array( 'abn' => array( '51824753556' ) ),
		array( 'abn' => true ),
		array(
			'abn'  => '51824753556',
			'guid' => '',
		),
		array(
			'guid' => '',
			'abn'  => '51824753556',
		),
	),
);
foreach ( $refused as $name => $values ) {
	$word = 'app' === $name ? 'operation' : $name;
	check( "without $name", interlock_bridge_permit( without( $name ), $text ), $word );
	foreach ( $values as $value ) {
		check( $name . ' ' . json_encode( $value ), interlock_bridge_permit( with( $name, $value ), $text ), $word );
	}
}
foreach ( array( '', 'Check ABN 53004085616.', 'Check 1234 51824753556.', 'Check 518247535569.', 'Check the tax office.' ) as $other ) {
	check( "said: $other", interlock_bridge_permit( $good, $other ), 'instruction' );
}
