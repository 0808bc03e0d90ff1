<?php
// R-BRIDGE-4: what an ABN is, and when one stands in an instruction.
require __DIR__ . '/check.php';
load( 'abn' );

foreach ( array( '51824753556', '53004085616', '88000014675', '26008672179', '48006434162', '16009661901', '10000000032', '99000000000' ) as $abn ) {
	check( $abn, interlock_bridge_is_abn( $abn ), true );
	for ( $place = 0; $place < 11; $place++ ) {
		for ( $digit = 0; $digit < 10; $digit++ ) {
			$other           = $abn;
			$other[ $place ] = (string) $digit;
			check( $other, interlock_bridge_is_abn( $other ), $other === $abn );
		}
	}
}
foreach ( array( '', '5182475355', '518247535560', '00000000560', '07100000000', '01824753556', '00000000000', '51 824 753 556', "51824753556\n", ' 51824753556', 'ABN51824753556', '٥١٨٢٤٧٥٣٥٥٦', '5.182475E10' ) as $text ) {
	check( $text, interlock_bridge_is_abn( $text ), false );
}

// Whether the number stands in a text is what the gateway's own selector says
// of the same texts.
foreach ( json_decode( file_get_contents( getenv( 'INTERLOCK_CASES' ) ), true ) as $case ) {
	check( $case['text'], interlock_bridge_names_abn( $case['text'], $case['abn'] ), $case['stands'] );
}
check( 'not UTF-8', interlock_bridge_names_abn( "\xff 51824753556", '51824753556' ), false );
check( 'a long text', interlock_bridge_names_abn( str_repeat( '5 ', 2000 ) . '51824753556', '51824753556' ), false );
